//! Requests: which are refused, and what of a file changes and what does not.

mod bad_request;
mod bad_target;
mod encodings;
mod folders;
mod globs;
mod held;
mod large;
mod many;
mod real_tree;
mod renames;
mod replace;
mod symlinks;
mod text_rules;
