"""GE's own serialized graphs -> IR: `.air` files, and `ge_proto` dumps as `.txt` or `.pbtxt`."""
