//! Plans to the bytes that the script reads, and its replies back.
