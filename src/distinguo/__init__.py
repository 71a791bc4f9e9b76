"""Distinguo."""
