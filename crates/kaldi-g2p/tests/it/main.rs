mod alignment;
mod files;
mod pronunciations;
mod training;
