//! What the guide page shows is what the files say.

use crate::folder::{BUMP, COLUMN, REQUIRED, template};

#[test]
fn adopting_the_guide_page_shows_the_files_as_they_are() {
    let page = include_str!("../../src/guide/adopting.md");
    for server in ["sqlite", "postgres", "mysql"] {
        for migration in [COLUMN, BUMP, REQUIRED] {
            let text = template(server, migration, "up.sql");
            let statements: Vec<&str> = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("--"))
                .collect();
            let shown = format!("```sql\n{}\n```", statements.join("\n"));
            assert!(page.contains(&shown), "{server}: {shown}");
        }
    }
}
