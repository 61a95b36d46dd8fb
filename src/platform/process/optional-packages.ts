/**
 * Packages that are not dependencies of ours: they are large, and only some instances need them. A checkout has them; for the
 * published package, the administrator installs them.
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
