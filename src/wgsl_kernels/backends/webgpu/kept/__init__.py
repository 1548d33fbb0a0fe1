"""What one process keeps on disk for the next: files in the user's cache folder."""
