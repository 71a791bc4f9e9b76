"""Tells which network addresses belong to the public internet."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_UNICAST: Final = IPv6Network("2000::/3")
"""All of IPv6 that is routed between networks. Addresses that hold an IPv4 one (mapped, compatible, NAT64)
and all local ones lie outside."""
_TUNNELS: Final = (IPv6Network("2001::/32"), IPv6Network("2002::/16"))  # Teredo, 6to4: they lead to an IPv4
_METADATA: Final = IPv4Address("168.63.129.16")  # a cloud's own service at an address that looks public


def address_of(text: str) -> Address:
    """The address that a resolver gave. Raises `ValueError`."""
    return ip_address(text)


def is_public(address: Address) -> bool:
    """Whether anyone may be at `address`: not this machine, its network, or the services of its cloud."""
    if not address.is_global or address.is_multicast:
        return False
    if isinstance(address, IPv6Address):
        return address in _UNICAST and not any(address in tunnel for tunnel in _TUNNELS)
    return address != _METADATA
