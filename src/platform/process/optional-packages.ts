/**
 * Packages that do not come with ours: large, and needed by some instances only. A checkout has them; beside the
 * package they are installed by whoever needs them.
 */

/** Whether the package was installed. */
export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
