#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runtime, runtimeEnvironment, runtimeFlags, setup } from '../scripts/setup.js'

setup()
const main = join(dirname(fileURLToPath(import.meta.url)), '..', 'src', 'main.ts')
const child = spawn(runtime, [...runtimeFlags, main, ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...runtimeEnvironment, ...process.env },
})
// A signal of the terminal reaches both processes; one sent to this process alone is handed on.
process.on('SIGTERM', () => child.kill('SIGTERM'))
process.on('SIGINT', () => {})
child.on('exit', (code, signal) => process.exit(signal ? 1 : code))
