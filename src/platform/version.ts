import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }

export const { version } = manifest

/** The source of the package (scripts/build.ts); `commit` only where it is known. */
export interface Build {
  /** The day. */
  readonly date: string
  readonly commit?: string
  readonly commitTime?: string
}

/** `null`: the service runs from a checkout. */
export const build: Build | null = readBuild()

function readBuild(): Build | null {
  try {
    return JSON.parse(readFileSync(join(import.meta.dirname, '..', 'build.json'), 'utf8')) as Build
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
