"""An adapter: what is known of it, and every rule that follows from that."""
