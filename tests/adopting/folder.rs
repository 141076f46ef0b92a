//! The migrations folder of an application, filled from those of this repository.

use diesel_migrations::FileBasedMigrations;
use std::path::PathBuf;
use tempfile::TempDir;

pub const COLUMN: &str = "2025-01-01-000000_products_version";
pub const BUMP: &str = "2025-01-01-000001_products_version_bump";
pub const REQUIRED: &str = "2025-01-01-000002_products_version_required";

/// A file of this repository, as it is.
pub fn template(server: &str, migration: &str, file: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("migrations/adopting");
    std::fs::read_to_string(folder.join(server).join(migration).join(file)).unwrap()
}

pub struct Folder {
    server: &'static str,
    folder: TempDir,
}

impl Folder {
    pub fn new(server: &'static str) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        Folder { server, folder }
    }

    /// Copies a migration, with its name and its files edited.
    pub fn copy(&self, migration: &str, edit: impl Fn(&str) -> String) {
        let to = self.folder.path().join(edit(migration));
        std::fs::create_dir_all(&to).unwrap();
        for file in ["up.sql", "down.sql"] {
            let text = edit(&template(self.server, migration, file));
            std::fs::write(to.join(file), text).unwrap();
        }
    }

    pub fn migrations(&self) -> FileBasedMigrations {
        FileBasedMigrations::from_path(self.folder.path()).unwrap()
    }
}
