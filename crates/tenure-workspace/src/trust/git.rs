//! Files that git tracks, read from its index. Git itself is not asked: what a repository configures would run.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use tenure_adapters::read::{open_file, read_text};

use crate::read::{GitFolders, git_folders};

/// The bytes of an entry before its flags, with a digest of SHA-1 and of SHA-256.
const ENTRY: [usize; 2] = [60, 72];
/// The most bytes of a path.
const LONGEST: usize = 1 << 16;

/// Returns those of these paths below a folder that git tracks. A path that ends with `/` stands for all below it.
pub(super) fn tracked<'n>(base: &Path, names: &[&'n str]) -> Vec<&'n str> {
    let Some(repository) = base.ancestors().find(|above| above.join(".git").exists()) else {
        return Vec::new();
    };
    let within = base.strip_prefix(repository).unwrap_or(base);
    let wanted: Vec<_> = names
        .iter()
        .copied()
        .map(|name| {
            (
                within.join(name).into_os_string().into_encoded_bytes(),
                name,
            )
        })
        .collect();
    index_of(repository)
        .and_then(|(index, is_sha256)| entries(&index, is_sha256, &wanted))
        .unwrap_or_default()
}

/// The file of the index, and whether its digests are of SHA-256.
fn index_of(repository: &Path) -> Option<(PathBuf, bool)> {
    let GitFolders { folder, common } = git_folders(repository)?;
    let config = read_text(&common.join("config"))
        .unwrap_or_default()
        .to_ascii_lowercase()
        .replace([' ', '\t'], "");
    Some((folder.join("index"), config.contains("objectformat=sha256")))
}

/// The wanted paths among the entries, which stand in order.
fn entries<'n>(
    index: &Path,
    is_sha256: bool,
    wanted: &[(Vec<u8>, &'n str)],
) -> Option<Vec<&'n str>> {
    let mut read = BufReader::with_capacity(1 << 16, open_file(index).ok()?);
    let mut header = [0; 12];
    read.read_exact(&mut header).ok()?;
    let number = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    let (version, count) = (number(4)?, number(8)?);
    if !header.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let size = ENTRY[usize::from(is_sha256)] + 2;
    let mut found = Vec::new();
    let (mut path, mut fixed) = (Vec::new(), vec![0; size]);
    for _ in 0..count {
        read.read_exact(&mut fixed).ok()?;
        let is_extended = version >= 3 && fixed[size - 2] & 0x40 != 0;
        if is_extended {
            read.read_exact(&mut [0; 2]).ok()?;
        }
        if version == 4 {
            let stays = path.len().checked_sub(varint(&mut read)?)?;
            path.truncate(stays);
        } else {
            path.clear();
        }
        let before = path.len();
        read.by_ref().take(LONGEST as u64).read_until(0, &mut path).ok()?;
        (path.pop() == Some(0)).then_some(())?;
        if version < 4 {
            let length = size + 2 * usize::from(is_extended) + path.len() - before;
            // One of the one to eight noughts was read with the path.
            skip(&mut read, 7 - length % 8)?;
        }
        let mut is_past = true;
        for (name, shown) in wanted {
            let is_folder = name.ends_with(b"/");
            let is_it = if is_folder {
                path.starts_with(name)
            } else {
                path == *name
            };
            if is_it && !found.contains(shown) {
                found.push(*shown);
            }
            is_past &= path > *name && !is_it;
        }
        if is_past {
            break;
        }
    }
    Some(found)
}

/// A number as git writes it: seven bits a byte, the first the highest.
fn varint(read: &mut impl std::io::Read) -> Option<usize> {
    let mut byte = [0];
    read.read_exact(&mut byte).ok()?;
    let mut value = usize::from(byte[0] & 127);
    while byte[0] & 128 != 0 {
        read.read_exact(&mut byte).ok()?;
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte[0] & 127);
    }
    Some(value)
}

/// Reads past up to eight bytes.
fn skip(read: &mut impl std::io::Read, bytes: usize) -> Option<()> {
    read.read_exact([0; 8].get_mut(..bytes)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    #[test]
    fn the_index_is_read_in_every_form() {
        if Command::new("git").arg("--version").output().is_err() {
            return;
        }
        for (version, format) in [
            ("2", "sha1"),
            ("3", "sha1"),
            ("4", "sha1"),
            ("4", "sha256"),
            ("2", "sha256"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let git = |args: &[&str]| {
                let done =
                    Command::new("git").args(args).current_dir(folder.path()).output().unwrap();
                assert!(done.status.success(), "{args:?}: {done:?}");
            };
            let format = format!("--object-format={format}");
            git(&["init", "-q", &format, "."]);
            for name in [
                ".a",
                ".tenure/context/id",
                ".tenure/store.db",
                "sub/.tenure/store.db",
                "z",
            ] {
                let path = folder.path().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, name).unwrap();
            }
            let names = [".tenure/store.db", ".tenure/context/", ".tenure/none"];
            assert!(tracked(folder.path(), &names).is_empty());
            git(&["add", ".a", ".tenure", "z"]);
            git(&["update-index", "--index-version", version]);
            if version == "3" {
                git(&["add", "-N", "sub"]);
            } else {
                git(&["add", "sub"]);
            }
            let mut found = tracked(folder.path(), &names);
            found.sort_unstable();
            assert_eq!(
                found,
                [".tenure/context/", ".tenure/store.db"],
                "{version} {format}"
            );
            assert_eq!(
                tracked(&folder.path().join("sub"), &names),
                [".tenure/store.db"]
            );
            git(&["rm", "-q", "--cached", ".tenure/store.db"]);
            assert_eq!(tracked(folder.path(), &names), [".tenure/context/"]);
            fs::write(folder.path().join(".git/index"), "DIRC").unwrap();
            assert!(tracked(folder.path(), &names).is_empty());
        }
    }
}
