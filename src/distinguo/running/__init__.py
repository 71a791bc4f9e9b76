"""Put questions to methods, and account for every one of them."""
