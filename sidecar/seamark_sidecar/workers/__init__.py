"""Programs that do the heavy work in processes of their own."""
