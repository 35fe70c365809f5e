//! The file systems: calls, what is found out about them, and what surrounds a content on them.

#[cfg(target_os = "linux")]
mod in_place;
pub(crate) mod metadata;
mod os;
mod overlay;
mod probe;
mod projects;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod sandbox;
#[cfg(target_os = "linux")]
mod several;
