#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { heapFlags, memorySetting } from './memory.js'
import { packagedRuntime, runtimeEnvironment } from './runtime.js'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')

/** A checkout runs its source with the Node that it installs; a package has it compiled and brings none. */
async function program() {
  const source = join(root, 'src', 'main.ts')
  if (!existsSync(source)) return { node: packagedRuntime(), main: join(root, 'dist', 'main.js') }
  const { runtime, setup } = await import('../scripts/setup.js')
  setup()
  return { node: runtime, main: source }
}

try {
  const { node, main } = await program()
  const args = process.argv.slice(2)
  const flags = heapFlags(await memorySetting({ args, env: process.env }))
  const child = spawn(node, [...flags, main, ...args], {
    // The channel carries no messages: when it closes, this process has ended, however that was, and the other one stops.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...runtimeEnvironment, ...process.env },
  })
  // A signal of the terminal reaches both processes, one sent to this process alone is handed on; twice is as good as once.
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(name, () => child.kill(name))
  child.on('exit', (code, signal) => process.exit(signal ? 1 : code))
} catch (error) {
  console.error(`strongroom: ${error.message}`)
  process.exit(1)
}
