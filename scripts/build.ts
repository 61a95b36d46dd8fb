/**
 * Compiles `src/` into `dist/` for the npm package: Node strips no types below node_modules. What the source reads
 * beside itself (scripts and styles of pages, data, a font) goes along as it is.
 */
import { execFileSync } from 'node:child_process'
import { cp, glob, mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')

await rm(dist, { recursive: true, force: true })
// The compiler that checks types, too; it takes a fraction of the time of the other one.
const compiler = join(root, 'node_modules', 'typescript-7', 'bin', 'tsc')
execFileSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
for await (const file of glob('**/*.{js,css,json,html,svg,ttf,txt}', { cwd: join(root, 'src') })) {
  await mkdir(dirname(join(dist, file)), { recursive: true })
  await cp(join(root, 'src', file), join(dist, file))
}
