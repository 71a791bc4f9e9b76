"""What runs leave behind: result files, and how to read them."""
