"""Elements divided by what is known of those around them."""
