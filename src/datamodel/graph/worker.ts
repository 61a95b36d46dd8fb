import { parentPort, workerData } from 'node:worker_threads'
import { Graphviz } from '@hpcc-js/wasm-graphviz'

/**
 * Lays out one graph and sends the SVG back. This may take minutes of computing, so it never runs in the thread of the requests.
 */
const graphviz = await Graphviz.load()
parentPort?.postMessage(graphviz.layout(String(workerData), 'svg', 'dot'))
