/** Which Node runs the service, and how. Runs with any Node from 20 on and without any dependency. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const { runtime: wanted } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const major = Number.parseInt(wanted, 10)

/**
 * Few arenas of glibc's allocator: with one per thread, what large requests leave behind is kept many times over (40 MB
 * of 380 in an import). Large buffers (pieces of answers, bodies) get pages of their own and give them back, from 128 kB
 * on for good: glibc begins like that, but each one that is freed raises the bound, up to 32 MB, and from then on they
 * leave holes in an arena (50 MB of 320 after lists of 2,000 and saves of 10,000). With that bound glibc would also give
 * back whatever is free at an arena's end at each chance, which takes a tenth more processor time in reads; 4 MB may stay.
 */
export const runtimeEnvironment = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '4194304',
}

/**
 * The program for an installed package: this Node when it is new enough, else one from the npm registry, fetched once
 * into the user's cache folder. @throws {Error} with one line.
 */
export function packagedRuntime() {
  if (Number.parseInt(process.versions.node, 10) >= major) return process.execPath
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
  const folder = join(cache, 'strongroom', `node-${wanted}`)
  const program = join(folder, 'node')
  if (!existsSync(program)) fetchRuntime(folder)
  if (spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout?.trim() !== `v${wanted}`) {
    throw new Error(
      `needs Node ${major} or later (this is ${process.versions.node}), and the one in ${folder} does not run`,
    )
  }
  return program
}

/** Made beside its place and moved there: a fetch that was cut off leaves nothing half done. */
function fetchRuntime(folder) {
  console.error(`fetching Node ${wanted} (once; this is Node ${process.versions.node}) …`)
  const partial = `${folder}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  try {
    const manifest = { private: true, dependencies: { node: wanted }, allowScripts: { node: true } }
    writeFileSync(join(partial, 'package.json'), JSON.stringify(manifest))
    const { status, error } = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: partial,
      stdio: ['ignore', 2, 2],
    })
    if (error || status !== 0) {
      throw new Error(`needs Node ${major} or later (this is ${process.versions.node}), and npm cannot fetch it`)
    }
    // What else is in the package (headers, manuals) is half as large again.
    renameSync(join(partial, 'node_modules', 'node', 'bin', 'node'), join(partial, 'node'))
    rmSync(join(partial, 'node_modules'), { recursive: true })
    if (!existsSync(folder)) renameSync(partial, folder)
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
}
