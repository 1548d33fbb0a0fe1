// Exit 0 where Dawn's binding for Node, installed in the folder named, finds a Vulkan adapter.
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const folder = process.argv[2];
const { create } = await import(pathToFileURL(path.join(folder, 'node_modules/webgpu/index.js')));
const adapter = await create(['backend=vulkan']).requestAdapter();
if (!adapter) {
  console.error('no Vulkan adapter');
  process.exit(1);
}
console.log(adapter.info.vendor, adapter.info.architecture, adapter.info.device, adapter.info.description);
process.exit(0);
