"""Arguments that a model wrote in; validated and coerced arguments out, or what is wrong with them."""
