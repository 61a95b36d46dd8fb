import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'
import { once } from '../../values/once.ts'

/** The path of a program of the machine: the given path, or a name that is searched for; null when it does not exist. */
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

/** A prefix for commands that takes away the network: on Linux, where users may create namespaces. The machine is checked once. */
export const withoutNetwork = once(async (): Promise<readonly string[]> => {
  const path = await findProgram('unshare')
  if (path === null) return []
  const isolate = [path, '--map-root-user', '--net', '--']
  return promisify(execFile)(path, [...isolate.slice(1), 'true'], { timeout: 10_000 }).then(
    () => isolate,
    () => [],
  )
})
