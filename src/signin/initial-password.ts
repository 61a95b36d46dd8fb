import { open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The generated password of `root` from the first start, kept in the data folder (mode 0600) until somebody has signed in with it.
 * Otherwise, a start that fails after generating it, or whose terminal was closed, would lock everybody out.
 */
export type InitialPassword = ReturnType<typeof initialPassword>

export function initialPassword(dataDir: string) {
  const path = join(dataDir, 'root-password')
  return {
    path,

    /** Null when there is none, or none that this process may read. */
    async read(): Promise<string | null> {
      const text = await readFile(path, 'utf8').catch(() => '')
      return text.trim() || null
    },

    /** Must be on disk before the hash is: otherwise a crash could leave a hash whose password is lost. */
    async keep(password: string): Promise<void> {
      await rm(path, { force: true })
      await using file = await open(path, 'wx', 0o600)
      await file.writeFile(`${password}\n`)
      await file.sync()
    },

    forget: (): Promise<void> => rm(path, { force: true }),
  }
}
