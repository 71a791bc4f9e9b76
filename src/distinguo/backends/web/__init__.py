"""The web: pages, fetched so that no address leads into a network of ours."""
