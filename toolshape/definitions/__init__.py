"""A definition that somebody else wrote in; what a tool is made of out."""
