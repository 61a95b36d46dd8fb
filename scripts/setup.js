/**
 * Installs the dependencies when they are missing or differ from package-lock.json. Runs before the npm scripts and
 * the command line, so it must work with any Node from 20 on and without any dependency.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** The Node that runs the service; the machine's own may be older. */
export const runtime = join(root, 'node_modules', '.bin', 'node')

export function setup() {
  if (existsSync(runtime) && isInstalled()) return
  console.error('installing dependencies (once) …')
  const { status, error } = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    // Standard output belongs to the next command.
    stdio: ['ignore', 2, 2],
  })
  if (error || status !== 0) fail(`"npm ci" failed${error ? `: ${error.message}` : ''}`)
  const { version } = JSON.parse(readFileSync(join(root, 'node_modules', 'node', 'package.json'), 'utf8'))
  const found = spawnSync(runtime, ['--version'], { encoding: 'utf8' }).stdout?.trim()
  if (found !== `v${version}`) {
    fail(`the npm package "node" ${version} does not run (found ${found || 'nothing'}); allow its install script`)
  }
}

/** npm lists the installed packages in node_modules; packages of other platforms are missing there by design. */
function isInstalled() {
  const wanted = packagesOf(join(root, 'package-lock.json'))
  const found = packagesOf(join(root, 'node_modules', '.package-lock.json'))
  return Object.entries(wanted).every(
    ([path, { version, optional }]) => path === '' || (found[path] ? found[path].version === version : optional),
  )
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages
  } catch {
    return {}
  }
}

function fail(message) {
  console.error(`setup: ${message}`)
  process.exit(1)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) setup()
