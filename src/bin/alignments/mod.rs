//! Alignments and posteriors: conversion, scaling, sums.

include!(concat!(env!("OUT_DIR"), "/alignments.rs"));
