import { findProgram } from '../../../platform/process/foreign/network.ts'
import { createFfmpeg } from './ffmpeg.ts'
import { createOffice } from './office.ts'
import { createRunner, type ProgramLimits, type ProgramName, programNames } from './run.ts'

export interface ProgramsOptions {
  /** Each program: a path, or a name that is searched on the path of the machine. */
  readonly names: Readonly<Record<ProgramName, string>>
  readonly limits: ProgramLimits
  /** The command that runs them without a network. */
  readonly isolate: readonly string[]
}

export type Programs = Awaited<ReturnType<typeof findPrograms>>

/** Searches the programs once: a program installed later is found at the next start. */
export async function findPrograms({ names, limits, isolate }: ProgramsOptions) {
  const found = new Map<ProgramName, string>()
  for (const name of programNames) {
    const path = await findProgram(names[name])
    if (path !== null) found.set(name, path)
  }
  const run = createRunner(found, limits, isolate)
  return {
    found: (): readonly ProgramName[] => [...found.keys()],
    film: createFfmpeg(run, limits),
    office: createOffice(run),
  }
}
