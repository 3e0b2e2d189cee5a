//! perfhive.
