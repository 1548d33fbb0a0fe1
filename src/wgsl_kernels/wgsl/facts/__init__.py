"""What composing reads of a text: bindings, structs, functions, constants."""
