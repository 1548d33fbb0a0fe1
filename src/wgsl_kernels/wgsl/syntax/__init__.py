"""The text of a module: tokens, the parser, its tree, the printer, places."""
