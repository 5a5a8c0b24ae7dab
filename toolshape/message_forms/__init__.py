"""The messages of one wire family each: read as records, and written from them."""
