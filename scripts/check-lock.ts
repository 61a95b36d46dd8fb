/**
 * Searches package-lock.json for native packages that other machines would miss: `npm ci` refuses a lock file without
 * them, and without its binary the service does not start there.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

interface LockedPackage {
  readonly version?: string
  readonly dev?: boolean
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly libc?: readonly string[]
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

type Lock = { readonly packages: Readonly<Record<string, LockedPackage>> }

/** The machines that the service promises to run on (docs/operations.md). */
const machines = [
  { os: 'linux', cpu: 'x64' },
  { os: 'linux', cpu: 'arm64' },
  { os: 'darwin', cpu: 'x64' },
  { os: 'darwin', cpu: 'arm64' },
] as const

/** One line for each missing package; empty when the lock file is complete. */
export function lockFaults({ packages }: Lock): string[] {
  return Object.entries(packages).flatMap(([path, found]) => {
    const names = Object.keys(found.optionalDependencies ?? {})
    const binaries = names.map((name) => ({ name, locked: resolve(packages, path, name) }))
    const absent = binaries.filter(({ locked }) => !locked).map(({ name }) => `${title(path)}: ${name} is not locked`)
    const native = binaries.flatMap(({ locked }) => (locked?.os || locked?.cpu ? [locked] : []))
    if (found.dev || native.length === 0 || isForOneMachine(found)) return absent
    const unserved = machines.filter((machine) => !native.some((binary) => runsOn(binary, machine)))
    return [...absent, ...unserved.map(({ os, cpu }) => `${title(path)}: no binary for ${os} ${cpu}`)]
  })
}

/** npm looks beside the package's own dependencies first, then further up. */
function resolve(packages: Lock['packages'], from: string, name: string): LockedPackage | undefined {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('node_modules/') - 1))) {
    const found = packages[`${folder === '' ? '' : `${folder}/`}node_modules/${name}`]
    if (found || folder === '') return found
  }
}

/** A binary with its own parts, like sharp and libvips, runs only on the machine that it is for. */
function isForOneMachine({ os, cpu }: LockedPackage): boolean {
  return os !== undefined || cpu !== undefined
}

function runsOn({ os, cpu, libc }: LockedPackage, machine: (typeof machines)[number]): boolean {
  return (os?.includes(machine.os) ?? true) && (cpu?.includes(machine.cpu) ?? true) && (libc?.includes('glibc') ?? true)
}

function title(path: string): string {
  return path === '' ? 'package.json' : path.replace(/^.*node_modules\//, '')
}

if (import.meta.main) {
  const lock = JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package-lock.json'), 'utf8')) as Lock
  const faults = lockFaults(lock)
  for (const fault of faults) console.log(fault)
  process.exit(faults.length > 0 ? 1 : 0)
}
