//! Which providers are registered, on systems without a registry.
