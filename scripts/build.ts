/**
 * Compiles `src/` into `dist/` for the npm package: Node strips no types below node_modules. Other files that the source
 * reads (scripts and styles of pages, data, a font) are copied unchanged.
 */
import { execFileSync } from 'node:child_process'
import { cp, glob, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')

await rm(dist, { recursive: true, force: true })
// The compiler that also checks types; it takes a fraction of the other one's time.
const compiler = join(root, 'node_modules', 'typescript-7', 'bin', 'tsc')
execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
for await (const file of glob('**/*.{js,css,json,html,svg,ttf,txt,gz,xsd,yml}', { cwd: join(root, 'src') })) {
  await mkdir(dirname(join(dist, file)), { recursive: true })
  await cp(join(root, 'src', file), join(dist, file))
}
await writeFile(join(dist, 'build.json'), `${JSON.stringify(build())}\n`)

/** The sources of the package, and the time; the commit only where the files are those of one. */
function build(): { date: string; commit?: string; commitTime?: string } {
  const date = new Date().toISOString().slice(0, 10)
  // In the build of the image there is no repository: the caller may pass the commit.
  const [commit, commitTime] = [process.env.BUILD_COMMIT, process.env.BUILD_COMMIT_TIME]
  if (commit && commitTime) return { date, commit, commitTime: new Date(commitTime).toISOString() }
  try {
    const git = (...args: string[]): string =>
      execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
    if (git('status', '--porcelain') !== '') return { date }
    const [hash, time = ''] = git('log', '-1', '--format=%H %cI').split(' ')
    return hash ? { date, commit: hash, commitTime: new Date(time).toISOString() } : { date }
  } catch {
    return { date }
  }
}
