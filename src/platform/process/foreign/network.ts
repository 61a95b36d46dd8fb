import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'
import { once } from '../../values/once.ts'

/** The path of a program of the machine: what is given, or a name that is looked for; null when it is not there. */
export async function findProgram(name: string): Promise<string | null> {
  if (name === '') return null
  const places = isAbsolute(name)
    ? [name]
    : (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name))
  for (const place of places) {
    const there = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (there) return place
  }
  return null
}

/**
 * What is put before a command so that it has no network: on Linux, where users may have namespaces of their own. The
 * machine is asked once.
 */
export const withoutNetwork = once(async (): Promise<readonly string[]> => {
  const path = await findProgram('unshare')
  if (path === null) return []
  const isolate = [path, '--map-root-user', '--net', '--']
  return promisify(execFile)(path, [...isolate.slice(1), 'true'], { timeout: 10_000 }).then(
    () => isolate,
    () => [],
  )
})
