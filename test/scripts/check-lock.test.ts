import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lockFaults } from '../../scripts/check-lock.ts'

const binary = (os: string, cpu: string) => ({ version: '1.0.0', os: [os], cpu: [cpu] })

/** A package `native` with binaries for the named machines; all four are declared. */
function lockWith(present: readonly string[], native: object = {}) {
  const machines = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64']
  const declared = Object.fromEntries(machines.map((machine) => [`native-${machine}`, '1.0.0']))
  const binaries = present.map((machine) => {
    const [os = '', cpu = ''] = machine.split('-')
    return [`node_modules/native-${machine}`, binary(os, cpu)]
  })
  return {
    packages: {
      '': {},
      'node_modules/native': { version: '1.0.0', optionalDependencies: declared, ...native },
      ...Object.fromEntries(binaries),
    },
  }
}

test('a lock file with a binary for each machine has no faults', () => {
  assert.deepEqual(lockFaults(lockWith(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'])), [])
})

test('a production package without a binary for a machine is named with the machine', () => {
  assert.deepEqual(lockFaults(lockWith(['linux-x64', 'linux-arm64', 'darwin-x64'])), [
    'native: native-darwin-arm64 is not locked',
    'native: no binary for darwin arm64',
  ])
})

test('a development package only has to be locked whole, as npm ci asks', () => {
  assert.deepEqual(lockFaults(lockWith(['linux-x64', 'linux-arm64', 'darwin-x64'], { dev: true })), [
    'native: native-darwin-arm64 is not locked',
  ])
})

test('a binary for musl alone serves no machine with glibc', () => {
  const lock = lockWith(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64'])
  const musl = { ...binary('linux', 'x64'), libc: ['musl'] }
  assert.deepEqual(lockFaults({ packages: { ...lock.packages, 'node_modules/native-linux-x64': musl } }), [
    'native: no binary for linux x64',
  ])
})

test('a binary may lie below the package that declares it', () => {
  const lock = lockWith(['linux-x64', 'linux-arm64', 'darwin-x64'])
  const nested = { 'node_modules/native/node_modules/native-darwin-arm64': binary('darwin', 'arm64') }
  assert.deepEqual(lockFaults({ packages: { ...lock.packages, ...nested } }), [])
})
