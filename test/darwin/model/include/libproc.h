// Declared in model.h, which is included before every file.
