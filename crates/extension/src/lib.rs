//! Providers in libraries of their own.
