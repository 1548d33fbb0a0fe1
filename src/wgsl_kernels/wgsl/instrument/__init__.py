"""Shaders that watch themselves: the tree is written again with a check at each access."""
