"""Results held against exact ones, within what they may be."""
