"""What holds around everything: errors, findings, switches, the context, words of messages."""
