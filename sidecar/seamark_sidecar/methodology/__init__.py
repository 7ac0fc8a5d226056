"""How teams organise work, mapped to terms that memory understands."""
