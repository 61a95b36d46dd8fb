import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, isAbsolute, join } from 'node:path'
import { promisify } from 'node:util'
import { createFfmpeg } from './programs/ffmpeg.ts'
import { createOffice } from './programs/office.ts'
import { createRunner, type ProgramLimits, type ProgramName, programNames } from './programs/run.ts'

export interface ProgramsOptions {
  /** Where each is: a path, or a name that is looked for on the path of the machine. */
  readonly names: Readonly<Record<ProgramName, string>>
  readonly limits: ProgramLimits
}

export type Programs = Awaited<ReturnType<typeof findPrograms>>

/** Looks for the programs once: one that comes later is found by the next start. */
export async function findPrograms({ names, limits }: ProgramsOptions) {
  const found = new Map<ProgramName, string>()
  for (const name of programNames) {
    const path = await find(names[name])
    if (path !== null) found.set(name, path)
  }
  const run = createRunner(found, limits, found.size > 0 ? await withoutNetwork() : [])
  return {
    found: (): readonly ProgramName[] => [...found.keys()],
    film: createFfmpeg(run, limits),
    office: createOffice(run),
  }
}

/** What is put before a command so that it has no network: on Linux, where users may have namespaces of their own. */
async function withoutNetwork(): Promise<readonly string[]> {
  const path = await find('unshare')
  if (path === null) return []
  const isolate = [path, '--map-root-user', '--net', '--']
  return promisify(execFile)(path, [...isolate.slice(1), 'true'], { timeout: 10_000 }).then(
    () => isolate,
    () => [],
  )
}

async function find(name: string): Promise<string | null> {
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
